#pragma once
#include <string>
#include <string_view>

/// Returns why a text is no well-formed document of XML 1.0 without a prolog, comments and processing
/// instructions, as pictures are; "" if it is one.
std::string broken_xml(std::string_view text);
