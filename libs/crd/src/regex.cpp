#include "regex.hpp"

#include <re2/re2.h>

#include <stdexcept>
#include <string>

namespace crd {
namespace {

re2::StringPiece piece(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace

Regex::Regex(std::string_view pattern)
    : compiled_(std::make_shared<const re2::RE2>(piece(pattern), re2::RE2::Quiet)) {
    if (!compiled_->ok())
        throw std::invalid_argument("the pattern " + std::string(pattern) + ": " + compiled_->error());
}

bool Regex::matches(std::string_view text) const { return re2::RE2::PartialMatch(piece(text), *compiled_); }

}  // namespace crd
