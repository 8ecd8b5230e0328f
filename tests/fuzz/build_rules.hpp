#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "random_input.hpp"
#include "runtime/pipeline.hpp"
#include "schema_values.hpp"

/// What must hold for every TrainJob and runtime that an API server may store, and whatever is in the
/// cluster.

/// What became of the inputs so far.
struct Tally {
    std::uint64_t built = 0;
    std::map<std::string, std::uint64_t> refused = {};   ///< by kind of refusal
    std::map<std::string, std::uint64_t> observed = {};  ///< objects that builds were shown, by kind
};

/// The rule that does not hold; empty if all do. Judges the input, shows it what it asks to see (made from
/// `values`), builds it twice, and stores its runtime as a snapshot.
std::string broken_rule(const Input& input, const runtime::Pipeline& pipeline, SchemaValues& values,
                        Tally& tally);
