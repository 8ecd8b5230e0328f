#include "admission/runtime_lister.hpp"

#include <algorithm>
#include <utility>

#include "admission/client_limits.hpp"
#include "api/nearest.hpp"

namespace admission {
namespace {

constexpr std::string_view last_applied = "kubectl.kubernetes.io/last-applied-configuration";

// The names that are compared, to either side. Most misspelt names begin like the correct one.
constexpr int most_neighbours = 128;

// The memory of what ExaminedRuntime keeps beside the object, as a number of values.
constexpr std::size_t values_of_findings = 8;

std::size_t kept_values_of(const RuntimeText& text) {
    return std::min(text.values + values_of_findings, RuntimeLister::most_kept_values);
}

}  // namespace

RuntimeTextPtr make_runtime_text(api::Json runtime) {
    if (api::Json* metadata = runtime.find("metadata")) {
        metadata->erase("managedFields");
        if (api::Json* annotations = metadata->find("annotations")) annotations->erase(last_applied);
    }
    RuntimeText text = {.json = api::to_json(runtime)};
    text.values = count_values(text.json);
    if (text.is_too_large()) text.json.clear();
    text.json.shrink_to_fit();
    return std::make_shared<const RuntimeText>(std::move(text));
}

api::Result<RuntimeLister::Examined> RuntimeLister::find(const api::ObjectKey& key) {
    const auto at = runtimes_.find(key);
    if (at == runtimes_.end()) return Examined();
    Entry& entry = at->second;
    if (entry.text->is_too_large())
        return api::invalid("spec.runtimeRef", "the runtime " + too_large_text(entry.text->values));
    if (entry.tree) {
        recently_used_.splice(recently_used_.begin(), recently_used_, entry.used);
        return entry.tree;
    }
    auto parsed = api::parse_json(entry.text->json);
    if (!parsed) return parsed.error();
    return keep(at->first, entry,
                std::make_shared<const runtime::ExaminedRuntime>(std::move(*parsed), pipeline_));
}

api::Result<RuntimeLister::Tree> RuntimeLister::find_tree(const api::ObjectKey& key) {
    const auto found = find(key);
    if (!found) return found.error();
    return tree_of(*found);
}

RuntimeLister::Tree RuntimeLister::tree_of(const Examined& examined) {
    return examined ? Tree(examined, &examined->object()) : Tree();
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

RuntimeLister::Examined RuntimeLister::keep(const api::ObjectKey& key, Entry& entry, Examined tree) {
    const std::size_t values = kept_values_of(*entry.text);
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
    kept_values_ -= kept_values_of(*entry.text);
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
