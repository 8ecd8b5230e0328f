#include "admission/runtime_lister.hpp"

#include <utility>

#include "api/nearest.hpp"

namespace admission {
namespace {

// To either side. Most misspelt names begin like the correct one.
constexpr int most_neighbours = 128;

}  // namespace

api::Result<RuntimeLister::Tree> RuntimeLister::find(const api::ObjectKey& key) {
    const auto at = runtimes_.find(key);
    if (at == runtimes_.end()) return Tree();
    Entry& entry = at->second;
    if (entry.text->is_too_large())
        return api::invalid("spec.runtimeRef", "the runtime " + too_large_text(entry.text->values));
    if (entry.tree) {
        recently_used_.splice(recently_used_.begin(), recently_used_, entry.used);
        return entry.tree;
    }
    auto parsed = api::parse_json(entry.text->json);
    if (!parsed) return parsed.error();
    return keep(at->first, entry, std::make_shared<const api::Json>(std::move(*parsed)));
}

std::size_t RuntimeLister::values_of(const api::ObjectKey& key) const {
    const auto at = runtimes_.find(key);
    return at == runtimes_.end() ? 0 : at->second.text->values;
}

std::string RuntimeLister::nearest(const api::ObjectKey& key) const {
    api::Nearest nearest(key.name);
    const auto at = runtimes_.lower_bound(key);
    auto after = at;
    for (int i = 0; i < most_neighbours && after != runtimes_.end() && after->first.ns == key.ns; ++i)
        nearest.offer((after++)->first.name);
    auto before = at;
    for (int i = 0; i < most_neighbours && before != runtimes_.begin(); ++i) {
        --before;
        if (before->first.ns != key.ns) break;
        nearest.offer(before->first.name);
    }
    return nearest.found();
}

RuntimeLister::Tree RuntimeLister::keep(const api::ObjectKey& key, Entry& entry, Tree tree) {
    const std::size_t values = entry.text->values;
    while (kept_values_ + values > most_kept_values)
        drop_tree(runtimes_.find(*recently_used_.back())->second);
    kept_values_ += values;
    recently_used_.push_front(&key);
    entry.used = recently_used_.begin();
    return entry.tree = std::move(tree);
}

void RuntimeLister::drop_tree(Entry& entry) {
    if (!entry.tree) return;
    entry.tree.reset();
    kept_values_ -= entry.text->values;
    recently_used_.erase(entry.used);
}

void RuntimeLister::set(const api::ObjectKey& key, RuntimeTextPtr text) {
    const auto at = text ? runtimes_.try_emplace(key).first : runtimes_.find(key);
    if (at == runtimes_.end()) return;
    drop_tree(at->second);
    if (text)
        at->second.text = std::move(text);
    else
        runtimes_.erase(at);
}

}  // namespace admission
