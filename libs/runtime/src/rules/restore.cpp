#include "rules/restore.hpp"

#include <algorithm>
#include <initializer_list>

#include "api/quantity.hpp"
#include "runtime/compare.hpp"

namespace runtime {
namespace {

using api::Json;
using merge::Field;
using merge::Strategy;
using merge::Type;

// A field that the types of clients may lack, since not every release of Kubeflow Trainer from 2.2 on has it.
struct UnknownField {
    std::string_view type;
    std::string_view name;
};
constexpr UnknownField unknown_fields[] = {
    {"PodSpec", "resourceClaims"},        {"PodSpec", "terminationGracePeriodSeconds"},  // since 2.3
    {"Container", "resources"},           {"TrainJobSpec", "ttlSecondsAfterFinished"},
    {"Trainer", "resourceClaimsPerNode"}, {"TrainJobSpec", "failurePolicy"},
};

bool may_be_unknown(const Type* type, std::string_view name) {
    return type && std::any_of(std::begin(unknown_fields), std::end(unknown_fields),
                               [&](const UnknownField& f) { return f.type == type->name && f.name == name; });
}

const Type& type_at(const Type& root, std::initializer_list<std::string_view> path) {
    const Type* type = &root;
    for (const std::string_view name : path) type = find_field(type, name)->type;
    return *type;
}

bool is_zero(const Json& value, bool quantity) {
    if (quantity) {
        const auto amount = api::parse_quantity(value);
        return amount && amount->is_zero();
    }
    return (value.is_string() && value.empty()) || (value.is_bool() && !value.bool_or(true)) ||
           (value.is_number() && value.as_double() == 0.0);
}

// Returns whether Go's encoder may leave a member out for its value, or may write the value for an absent
// member.
bool is_omitted_by_go(std::string_view name, const Json& value, const Field* field, bool quantity) {
    const Strategy strategy = field ? field->strategy : Strategy::deep;
    if (value.is_null()) return true;
    if (value.is_array()) return value.empty();
    // All other objects `{}` are a pointer to a struct, which is kept, or a struct, which is always written.
    if (value.is_object())
        return value.empty() &&
               (strategy == Strategy::literal_map || name == "metadata" || name == "resources");
    return strategy != Strategy::keep_zero && is_zero(value, quantity);
}

class Comparison {
public:
    Comparison(bool lossy, std::vector<std::string>* lost) : lossy_(lossy), lost_(lost) {}

    bool same_members(const Json& stored, const Json& written, const Type* type, bool quantities) {
        const auto of_value = [&](const auto& member) {
            return Member{member.key, find_field(type, member.key),
                          quantities || holds_quantities(member.key)};
        };
        for (const auto& member : written.members())
            if (const Member m = of_value(member);
                !stored.contains(m.name) && !is_omitted_by_go(m.name, member.value, m.field, m.quantity))
                return false;
        for (const auto& member : stored.members()) {
            const Member m = of_value(member);
            const Json* there = written.find(m.name);
            if (there ? same(m, member.value, *there)
                      : is_omitted_by_go(m.name, member.value, m.field, m.quantity))
                continue;
            if (there || !lossy_ || !may_be_unknown(type, m.name)) return false;
            if (lost_) lost_->emplace_back(m.name);
        }
        return true;
    }

private:
    struct Member {
        std::string_view name;
        const Field* field;
        bool quantity;
    };

    bool same(const Member& of, const Json& stored, const Json& written) {
        if (stored == written) return true;
        const Type* type = of.field ? of.field->type : nullptr;
        const bool is_map = of.field && of.field->strategy == Strategy::literal_map;
        if (stored.is_object() && written.is_object())
            return is_map ? same_map(stored, written, of.quantity)
                          : same_members(stored, written, type, of.quantity);
        const bool nothing = is_omitted_by_go(of.name, stored, of.field, of.quantity);
        if (nothing || is_omitted_by_go(of.name, written, of.field, of.quantity))
            return nothing && is_omitted_by_go(of.name, written, of.field, of.quantity);
        if (stored.is_array() && written.is_array())
            return std::equal(stored.items().begin(), stored.items().end(), written.items().begin(),
                              written.items().end(), [&](const Json& a, const Json& b) {
                                  return a == b ||
                                         (a.is_object() && b.is_object() && same_members(a, b, type, false));
                              });
        return of.quantity && is_same_quantity(stored, written);
    }

    // Every key of a map is written, whatever its value.
    static bool same_map(const Json& stored, const Json& written, bool quantities) {
        const auto& left = stored.members();
        const auto& right = written.members();
        return std::equal(
            left.begin(), left.end(), right.begin(), right.end(), [&](const auto& a, const auto& b) {
                return a.key == b.key &&
                       (a.value == b.value || (quantities && is_same_quantity(a.value, b.value)));
            });
    }

    const bool lossy_;
    std::vector<std::string>* const lost_;
};

// The types of the API that are not part of a JobSet.
struct Types {
    const Type& job_set = merge::job_set_spec();
    const Type& job = type_at(job_set, {"replicatedJobs"});
    const Type& metadata = type_at(job, {"template", "metadata"});
    const Type& container = type_at(job, {"template", "spec", "template", "spec", "containers"});
    const Type& env = type_at(container, {"env"});
    const Type& resources = type_at(container, {"resources"});

    const Field source_fields[2] = {{"storageUri", Strategy::keep_zero},
                                    {"env", Strategy::by_key, &env, "name"}};
    const Type source = {"InitializerSource", source_fields};
    const Field initializer_fields[2] = {{"dataset", Strategy::deep, &source},
                                         {"model", Strategy::deep, &source}};
    const Type initializer = {"Initializer", initializer_fields};
    const Field spec_fields[3] = {{"initializer", Strategy::deep, &initializer},
                                  {"managedBy", Strategy::keep_zero},
                                  {"ttlSecondsAfterFinished", Strategy::keep_zero}};
    const Type spec = {"TrainJobSpec", spec_fields};

    const Field trainer_fields[5] = {{"image", Strategy::keep_zero},
                                     {"numNodes", Strategy::keep_zero},
                                     {"numProcPerNode", Strategy::keep_zero},
                                     {"env", Strategy::by_key, &env, "name"},
                                     {"resourcesPerNode", Strategy::deep, &resources}};
    const Type trainer = {"Trainer", trainer_fields};

    const Field template_fields[2] = {{"metadata", Strategy::deep, &metadata},
                                      {"spec", Strategy::deep, &job_set}};
    const Type job_set_template = {"JobSetTemplatePatch", template_fields};
    const Field patch_fields[1] = {{"template", Strategy::deep, &job_set_template}};
    const Type patch = {"TrainingRuntimeSpecPatch", patch_fields};
};

const Types& types() {
    static const Types all;
    return all;
}

}  // namespace

const Type& rest_of_spec_type() { return types().spec; }
Json rest_of_spec(const Json& spec) {
    Json rest = Json::object();
    for (const auto& [name, value] : spec.members())
        if (name != "suspend" && name != "trainer" && name != "runtimePatches") rest[name] = value;
    return rest;
}

const Type& trainer_type() { return types().trainer; }
const Type& patch_type() { return types().patch; }

bool only_lost_in_writing(const Json& stored, const Json& written, const Type& type, bool lossy) {
    return stored.is_object() && written.is_object() && !(stored == written) &&
           Comparison(lossy, nullptr).same_members(stored, written, &type, false);
}

std::vector<std::string> unknown_fields_lost(const Json& stored, const Json& written, const Type& type) {
    std::vector<std::string> lost;
    const bool same = Comparison(true, &lost).same_members(stored, written, &type, false);
    return same ? lost : std::vector<std::string>();
}

}  // namespace runtime
