#include "crd/crd.hpp"

#include <map>

#include "embedded.hpp"
#include "validator.hpp"

namespace crd {

Crd::Crd(const api::Json& schema) : root_(std::make_unique<const Node>(compile(schema))) {}
Crd::Crd(Crd&&) noexcept = default;
Crd::~Crd() = default;

std::vector<std::string> Crd::bring_to_stored_form(api::Json& object) const {
    return crd::bring_to_stored_form(*root_, object);
}

std::vector<Finding> Crd::validate(const api::Json& object, const api::Json& old_object) const {
    return crd::validate(*root_, object, old_object);
}

const Crd* find(std::string_view kind) {
    static const auto crds = [] {
        std::map<std::string, Crd, std::less<>> all;
        for (const Embedded& each : embedded())
            all.emplace(each.kind, Crd(api::parse_json(each.schema).value()));
        return all;
    }();
    const auto found = crds.find(kind);
    return found == crds.end() ? nullptr : &found->second;
}

}  // namespace crd
