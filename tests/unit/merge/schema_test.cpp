#include "merge/schema.hpp"

#include <functional>
#include <set>

#include "tree.hpp"

namespace {

// Every type that can be reached, once each.
void visit(const merge::Type& type, std::set<const merge::Type*>& seen) {
    if (!seen.insert(&type).second) return;
    for (const merge::Field& field : type.fields)
        if (field.type) visit(*field.type, seen);
}

}  // namespace

TEST_CASE("the table of merge keys is consistent", "[merge]") {
    std::set<const merge::Type*> types;
    visit(merge::job_set_spec(), types);
    visit(merge::resource_requirements(), types);
    CHECK(types.size() > 30);
    for (const merge::Type* type : types) {
        INFO(type->name);
        std::set<std::string_view> names;
        for (const merge::Field& field : type->fields) {
            INFO(field.name);
            CHECK(names.insert(field.name).second);
            CHECK((field.strategy == merge::Strategy::by_key) == !field.key.empty());
        }
    }
}
