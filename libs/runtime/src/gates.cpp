#include "runtime/gates.hpp"

#include <algorithm>
#include <iterator>

namespace runtime {
namespace {

struct Row {
    Gate gate;
    std::string_view name;
    bool on_by_default;
};

constexpr Row rows[] = {
    {Gate::status, "TrainJobStatus", false},
    {Gate::run_policy, "TrainJobRunPolicy", true},
    {Gate::failure_policy, "TrainJobFailurePolicy", true},
    {Gate::resource_claims, "TrainJobDynamicResourceAllocation", false},
    {Gate::edits, "TrainJobEdits", true},
    {Gate::progress_deadline, "TrainJobProgressDeadline", false},
};

const Row& row_of(Gate gate) { return rows[static_cast<std::size_t>(gate)]; }

constexpr std::uint32_t bit(Gate gate) { return 1U << static_cast<unsigned>(gate); }

}  // namespace

api::Result<> check_gates(const FeatureGates& gates) {
    for (const auto& gate : gates) {
        const std::string& name = gate.first;
        if (std::any_of(std::begin(rows), std::end(rows), [&](const Row& row) { return row.name == name; }))
            continue;
        std::string known;
        for (const Row& row : rows) known.append(known.empty() ? "" : ", ").append(row.name);
        return api::Error{
            .code = api::Errc::invalid,
            .message = "--feature-gates: there is no gate \"" + name + "\"; there are " + known};
    }
    const Gates on(gates);
    if (on.has(Gate::progress_deadline) && !on.has(Gate::status))
        return api::Error{.code = api::Errc::invalid,
                          .message = "--feature-gates: " + std::string(name_of(Gate::progress_deadline)) +
                                     "=true needs " + std::string(name_of(Gate::status)) + "=true"};
    return {};
}

std::string_view name_of(Gate gate) { return row_of(gate).name; }

Gates::Gates(const FeatureGates& named) {
    for (const Row& row : rows) {
        const auto at = named.find(std::string(row.name));
        if (at == named.end() ? row.on_by_default : at->second) on_ |= bit(row.gate);
    }
}

Gates Gates::all() {
    Gates gates;
    for (const Row& row : rows) gates.on_ |= bit(row.gate);
    return gates;
}

Gates Gates::none() {
    Gates gates;
    gates.on_ = 0;
    return gates;
}

Gates Gates::with(Gate gate) const {
    Gates gates = *this;
    gates.on_ |= bit(gate);
    return gates;
}

Gates Gates::without(Gate gate) const {
    Gates gates = *this;
    gates.on_ &= ~bit(gate);
    return gates;
}

std::string needs_text(Gate gate) { return "needs the feature gate " + std::string(name_of(gate)); }

}  // namespace runtime
