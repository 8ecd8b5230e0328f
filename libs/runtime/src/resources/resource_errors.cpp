#include "resources/resource_errors.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "api/dns_label.hpp"
#include "api/nearest.hpp"
#include "api/quantity.hpp"
#include "api/text.hpp"

namespace runtime {
namespace {

using api::Json;
using api::Quantity;

constexpr std::string_view standard_names[] = {"cpu", "memory", "ephemeral-storage"};
constexpr std::string_view huge_pages = "hugepages-";
constexpr std::string_view of_quotas = "requests.";
constexpr std::size_t longest_domain = 253 - of_quotas.size();

bool is_huge_pages(std::string_view name) { return name.starts_with(huge_pages); }

bool is_extended(std::string_view name) {
    return name.find('/') != name.npos && name.find("kubernetes.io/") == name.npos;
}

bool is_known_name(std::string_view name) {
    const auto slash = name.find('/');
    if (slash == name.npos)
        return std::find(std::begin(standard_names), std::end(standard_names), name) !=
                   std::end(standard_names) ||
               (is_huge_pages(name) && api::is_name_part(name));
    return slash <= longest_domain && api::is_dns_subdomain(name.substr(0, slash)) &&
           api::is_name_part(name.substr(slash + 1)) && !(is_extended(name) && name.starts_with(of_quotas));
}

struct Device {
    std::string_view part;  // of text from users
    std::string_view name;
};
constexpr std::array devices = {Device{"gpu", "nvidia.com/gpu"}, Device{"nvidia", "nvidia.com/gpu"},
                                Device{"tpu", "google.com/tpu"}};

constexpr std::pair<std::string_view, std::string_view> other_words[] = {{"mem", "memory"},
                                                                         {"ram", "memory"},
                                                                         {"storage", "ephemeral-storage"},
                                                                         {"disk", "ephemeral-storage"},
                                                                         {"hugepages", "hugepages-2Mi"}};

// Suggests a name for an invalid one. If the container has such a device already, it is that name.
class Advice {
public:
    explicit Advice(const Json& resources) {
        for (const char* list : {"limits", "requests"})
            for (const auto& [name, quantity] : resources[list].members()) {
                if (!is_known_name(name) || !is_extended(name)) continue;
                for (std::size_t i = 0; i < devices.size(); ++i)
                    if (own_[i].empty() && api::to_lower(name).find(devices[i].part) != std::string::npos)
                        own_[i] = name;
            }
    }

    std::string about(std::string_view name) const {
        const std::string meant = likely_name(api::to_lower(name));
        if (!meant.empty()) return "is no resource of a container; did you mean \"" + meant + "\"?";
        return "is no resource of a container: use cpu, memory, ephemeral-storage, hugepages-SIZE, or the "
               "full name of a device, such as example.com/device";
    }

private:
    std::string likely_name(const std::string& word) const {
        for (std::size_t i = 0; i < devices.size(); ++i)
            if (word.find(devices[i].part) != word.npos)
                return own_[i].empty() ? std::string(devices[i].name) : own_[i];
        for (const auto& [other, meant] : other_words)
            if (word == other) return std::string(meant);
        api::Nearest nearest(word);
        for (const std::string_view standard : standard_names) nearest.offer(standard);
        return nearest.found();
    }

    std::array<std::string, devices.size()> own_ = {};
};

// Returns whether Kubernetes takes a quantity for a whole number: it rounds up to thousandths.
bool is_whole(const Quantity& quantity) { return (1000 * quantity).round_up() % 1000 == 0; }

// Returns "" if Pods can have it. The name is known.
std::string wrong_amount(std::string_view name, const Quantity& quantity) {
    if (quantity < Quantity()) return "must not be negative";
    if (is_extended(name) && !is_whole(quantity)) return "must be a whole number";
    if (!is_huge_pages(name)) return "";
    const auto size = api::parse_quantity(name.substr(huge_pages.size()));
    if (!size || size->round_up() <= 0 || !is_whole(*size))
        return "must have the size of a page in its name, such as hugepages-2Mi";
    return quantity.round_up() % size->round_up() == 0 ? ""
                                                       : "must be a multiple of the page size in its name";
}

std::string wrong_limit(std::string_view name, const Quantity& request, const Json& limit) {
    if (can_be_overcommitted(name)) return "";
    const auto other = api::parse_quantity(limit);
    if (limit.is_null()) return "must have the same limit beside it";
    return !other || *other == request ? "" : "must be the same as its limit, " + to_string(*other);
}

bool has_any(const Json& resources, auto is_wanted) {
    for (const char* list : {"limits", "requests"})
        for (const auto& [name, quantity] : resources[list].members())
            if (is_wanted(name)) return true;
    return false;
}

}  // namespace

bool can_be_overcommitted(std::string_view name) { return !is_extended(name) && !is_huge_pages(name); }

std::vector<ResourceError> resource_errors(const Json& resources) {
    std::vector<ResourceError> errors;
    std::optional<Advice> advice;  // made for the first unknown name
    const bool has_room_for_pages =
        has_any(resources, [](std::string_view name) { return name == "cpu" || name == "memory"; });
    for (const std::string_view list : {"limits", "requests"})
        for (const auto& [name, value] : resources[list].members()) {
            const auto add = [&, &name = name](Json what, std::string rule) {
                if (!rule.empty()) errors.push_back({list, name, std::move(what), std::move(rule)});
            };
            if (!is_known_name(name)) {
                if (!advice) advice.emplace(resources);
                add(name, advice->about(name));
                continue;
            }
            const auto quantity = api::parse_quantity(value);
            if (!quantity) continue;
            add(value, wrong_amount(name, *quantity));
            if (list == "requests") add(value, wrong_limit(name, *quantity, resources["limits"][name]));
            if (is_huge_pages(name) && !has_room_for_pages)
                add(value, "must have cpu or memory beside it: Pods have no huge pages alone");
        }
    return errors;
}

}  // namespace runtime
