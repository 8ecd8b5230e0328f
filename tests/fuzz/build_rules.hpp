#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "random_input.hpp"
#include "runtime/pipeline.hpp"
#include "schema_values.hpp"
#include "work.hpp"

/// What must hold for every TrainJob and runtime that an API server may store, and whatever is in the
/// cluster.

/// What became of the inputs so far.
struct Tally {
    std::uint64_t built = 0;
    std::uint64_t large = 0;                            ///< of those that were built
    std::uint64_t weight = 0;                           ///< of all that builds were given
    std::uint64_t heaviest = 0;                         ///< of what one was given
    Work most = {};                                     ///< of one large build, per thousand of its weight
    std::map<std::string, std::uint64_t> refused = {};  ///< by kind of refusal
    /// Those of them that the review let pass.
    std::map<std::string, std::uint64_t> admitted_and_refused = {};
    std::map<std::string, std::uint64_t> observed = {};  ///< objects that builds were shown, by kind
};

/// The rule that does not hold; empty if all do. Judges the input as a new one and as a change, shows it what
/// it asks to see (made from `values`), builds it twice, and stores its runtime as a snapshot.
std::string broken_rule(const Input& input, const runtime::Pipeline& pipeline, SchemaValues& values,
                        Tally& tally);
