// Line 1: a JobSetSpec, line 2: a patch, of any shape: an error, or a result that the same patch does not
// change. There are two exceptions. A patch may fail a second time, because items without a key can be added
// to a list that does not exist yet. Such a list may also get two items of one name, as in Kubeflow Trainer,
// which the second patch merges; the API server denies such patches.
#include <algorithm>

#include "cost.hpp"
#include "input.hpp"
#include "merge/strategic_merge.hpp"

namespace {

using api::Json;

bool some(const auto& list, const auto& is_so) { return std::any_of(list.begin(), list.end(), is_so); }

// Returns whether some list has two items with the same merge key.
bool names_twice(const Json& tree) {
    for (const char* key : {"name", "mountPath", "uid"}) {
        std::vector<std::string_view> names;
        for (const Json& item : tree.items())
            if (const auto name = item[key].as_string(); !name.empty()) names.push_back(name);
        std::sort(names.begin(), names.end());
        if (std::adjacent_find(names.begin(), names.end()) != names.end()) return true;
    }
    return some(tree.items(), names_twice) ||
           some(tree.members(), [](const auto& member) { return names_twice(member.value); });
}

void run(const std::uint8_t* data, std::size_t size) {
    const auto trees = trees_of(text_of(data, size), 2);
    for (const merge::Type* type : {&merge::job_set_spec(), &merge::resource_requirements()}) {
        const auto merged = merge::strategic_merge(trees[0], trees[1], *type);
        if (!merged) continue;
        const auto again = merge::strategic_merge(*merged, trees[1], *type);
        MUST_HOLD(!again || *again == *merged || names_twice(trees[1]));
    }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return at_cost({.bytes_per_byte = 200, .nanoseconds_per_byte = 10000}, size, [&] { run(data, size); });
}
