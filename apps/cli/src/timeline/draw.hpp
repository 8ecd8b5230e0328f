#pragma once
#include <string>

#include "text/terminal.hpp"
#include "timeline/model.hpp"

namespace cli {

/// Returns lines with a bar for each stage and each Pod, as wide as the terminal, or 100 columns in a pipe.
/// Of many Pods it shows 16.
std::string draw_text(const Timeline& timeline, const Terminal& terminal);

/// Returns the same as a picture, with all Pods: SVG 1.1 without scripts, fonts or links.
std::string draw_svg(const Timeline& timeline);

}  // namespace cli
