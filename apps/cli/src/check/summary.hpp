#pragma once
#include <cstddef>
#include <span>
#include <string>

#include "check/admission_chain.hpp"

namespace cli {

/// What admission says to one object of the input.
struct Verdict {
    const offline::InputObject* object = nullptr;
    AdmissionAnswer answer = {};
};

/// Returns for how many reasons the object is refused: 0 if it is allowed.
std::size_t errors(const Verdict& verdict);

/// Returns a line for each object, with its place, its verdict, the numbers of errors and warnings, and the
/// first error; and a last line with the sums.
std::string summary(std::span<const Verdict> verdicts);

}  // namespace cli
