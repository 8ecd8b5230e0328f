#pragma once
#include <string>
#include <string_view>

namespace cli {

enum class Colours { no, yes };

/// The meaning of a text for its subject; a terminal shows it as a colour.
enum class Tone { plain, good, bad, held, faint };

/// Returns the text in the colour of its tone.
std::string painted(std::string_view text, Tone tone, Colours colours);

/// Returns the text with a space for each control character (C0, DEL, and C1 in UTF-8), which terminals would
/// interpret.
std::string harmless(std::string_view text);

}  // namespace cli
