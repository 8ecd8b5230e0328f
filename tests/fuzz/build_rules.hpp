#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "random_input.hpp"
#include "runtime/pipeline.hpp"
#include "schema_values.hpp"
#include "work.hpp"

/// Rules that must hold for every TrainJob and runtime that an API server may store, in any cluster.

/// The outcomes of the inputs so far.
struct Tally {
    std::uint64_t built = 0;
    std::uint64_t large = 0;     ///< large ones of the built inputs
    std::uint64_t weight = 0;    ///< total weight of the inputs of builds
    std::uint64_t heaviest = 0;  ///< largest weight of one input
    Work most = {};              ///< most work of one large build, per thousand of its weight
    std::map<std::string, std::uint64_t> refused = {};  ///< failed builds by kind of error
    /// Failed builds of inputs that the review admitted.
    std::map<std::string, std::uint64_t> admitted_and_refused = {};
    std::map<std::string, std::uint64_t> observed = {};  ///< objects that builds have read, by kind
};

/// Returns the broken rule; empty if all hold. Reviews the input as a new object and as a change, builds it
/// twice with the objects that the build requests (made from `values`), and stores its runtime as a snapshot.
std::string broken_rule(const Input& input, const runtime::Pipeline& pipeline, SchemaValues& values,
                        Tally& tally);
