#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "api/error.hpp"

/// Feature gates turn experimental features on.
namespace runtime {

/// The gates, in the order of the table in gates.cpp.
enum class Gate : std::uint8_t {
    status,
    run_policy,
    failure_policy,
    resource_claims,
    edits,
    progress_deadline
};

/// The gates that options set, by name.
using FeatureGates = std::map<std::string, bool>;

/// Checks the gates of an option. Fails for an unknown gate, and for one without the gate that it needs.
api::Result<> check_gates(const FeatureGates& gates);

/// Returns the gate's name in options.
std::string_view name_of(Gate gate);

/// The gates that are on.
class Gates {
public:
    /// Returns the given gates with their value, and the others with their default.
    explicit Gates(const FeatureGates& named = {});
    /// Returns all gates as on.
    static Gates all();
    /// Returns all gates as off.
    static Gates none();

    bool has(Gate gate) const { return (on_ >> static_cast<unsigned>(gate) & 1U) != 0; }
    Gates with(Gate gate) const;
    Gates without(Gate gate) const;

    bool operator==(const Gates&) const = default;

private:
    std::uint32_t on_ = 0;
};

/// Returns the message that denies a field of a gate: "needs the feature gate X".
std::string needs_text(Gate gate);

}  // namespace runtime
