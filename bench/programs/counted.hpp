#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

/// A part of a benchmark whose instructions are counted.
struct CountedCase {
    std::string name = {};  ///< names of the same case in two commits are equal
    std::function<void()> act = {};
    bool calls_counted = false;  ///< `act` itself passes to counted() what counts
};

/// Runs it. Under callgrind, bench/support/instructions.py counts what runs in here.
void counted(const std::function<void()>& act);

/// Handles the arguments by which bench/support/instructions.py runs a program: `--cases` prints the number
/// of runs and the names of the cases, `--counted NAME` runs one of them so often. Returns the exit status;
/// nullopt if the arguments are others.
std::optional<int> count_instructions(int count, char** arguments, const std::vector<CountedCase>& cases);
