#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "api/error.hpp"

/// Feature gates: what is tried out.
namespace runtime {

/// In the order of the table in gates.cpp.
enum class Gate : std::uint8_t { status, run_policy, failure_policy, resource_claims, edits };

/// By name, as the options have them.
using FeatureGates = std::map<std::string, bool>;

/// Fails at a name that no gate has.
api::Result<> check_gates(const FeatureGates& gates);

/// As in `--feature-gates`.
std::string_view name_of(Gate gate);

/// Which gates are on.
class Gates {
public:
    /// Those that are named as they are named, the others as they are by default.
    explicit Gates(const FeatureGates& named = {});
    /// Each of them.
    static Gates all();
    /// None of them.
    static Gates none();

    bool has(Gate gate) const { return (on_ >> static_cast<unsigned>(gate) & 1U) != 0; }
    Gates with(Gate gate) const;
    Gates without(Gate gate) const;

    bool operator==(const Gates&) const = default;

private:
    std::uint32_t on_ = 0;
};

/// What a field that needs a gate is refused with: "needs the feature gate X".
std::string needs_text(Gate gate);

}  // namespace runtime
