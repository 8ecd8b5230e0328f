#include "crd/crd.hpp"

#include <map>

#include "embedded.hpp"
#include "validator.hpp"

namespace crd {
namespace {

using api::Json;

Json with_parts(Json schema, const std::vector<Json>& parts) {
    if (const Json* place = std::as_const(schema).find("$"))
        return parts.at(static_cast<std::size_t>(place->int_or(-1)));
    if (schema.is_object())
        for (auto& [key, value] : schema.members()) value = with_parts(std::move(value), parts);
    if (schema.is_array())
        for (Json& item : schema.items()) item = with_parts(std::move(item), parts);
    return schema;
}

std::map<std::string, StructuralSchema, std::less<>> read_embedded() {
    std::vector<Json> parts;
    for (const std::string_view text : shared_parts())
        parts.push_back(with_parts(api::parse_json(text).value(), parts));
    std::map<std::string, StructuralSchema, std::less<>> all;
    for (const Embedded& each : embedded())
        all.emplace(each.kind, StructuralSchema(with_parts(api::parse_json(each.schema).value(), parts)));
    return all;
}

}  // namespace

StructuralSchema::StructuralSchema(const api::Json& schema)
    : root_(std::make_unique<const Node>(compile(schema))) {}
StructuralSchema::StructuralSchema(StructuralSchema&&) noexcept = default;
StructuralSchema::~StructuralSchema() = default;

std::vector<std::string> StructuralSchema::prune_and_default(api::Json& object) const {
    return crd::prune_and_default(*root_, object);
}

std::vector<api::StatusCause> StructuralSchema::validate(const api::Json& object,
                                                         const api::Json& old_object) const {
    return crd::validate(*root_, object, old_object);
}

const StructuralSchema* find(std::string_view kind) {
    static const auto crds = read_embedded();
    const auto found = crds.find(kind);
    return found == crds.end() ? nullptr : &found->second;
}

}  // namespace crd
