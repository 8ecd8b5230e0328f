// Line 1: a JobSetSpec, line 2: a patch, of any shape: an error, or a result that the same patch does not
// change. (It may not fit a second time: items without a key can be added to a list that is not there yet.)
#include "input.hpp"
#include "merge/strategic_merge.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto trees = trees_of(text_of(data, size), 2);
    for (const merge::Type* type : {&merge::job_set_spec(), &merge::resource_requirements()}) {
        const auto merged = merge::strategic_merge(trees[0], trees[1], *type);
        if (!merged) continue;
        const auto again = merge::strategic_merge(*merged, trees[1], *type);
        MUST_HOLD(!again || *again == *merged);
    }
    return 0;
}
