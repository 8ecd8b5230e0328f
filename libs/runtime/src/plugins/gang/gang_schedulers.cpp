#include "runtime/gang_schedulers.hpp"

#include <algorithm>

#include "api/dns_label.hpp"
#include "api/text.hpp"

namespace runtime {

const char* const gang_schedulers_help =
    "the schedulerName of Pods of gangs whose runtime names none, as POLICY=NAME; the policies are "
    "coscheduling and volcano";

api::Result<> read_option(std::string_view text, GangSchedulers& target) {
    GangSchedulers read;
    while (!text.empty()) {
        const std::string_view row = api::take_item(text);
        const auto equals = std::min(row.find('='), row.size());
        const std::string_view policy = row.substr(0, equals);
        const std::string_view name = row.substr(std::min(equals + 1, row.size()));
        const bool is_known = policy == "coscheduling" || policy == "volcano";
        if (!is_known || !api::is_dns_subdomain(name))
            return api::invalid("",
                                "must be a list of POLICY=NAME, separated by commas; the policies are "
                                "coscheduling and volcano, and a name is that of a scheduler");
        (policy == "volcano" ? read.volcano : read.coscheduling) = name;
    }
    target = std::move(read);
    return {};
}

std::string show_option(const GangSchedulers& schedulers) {
    std::string text;
    if (!schedulers.coscheduling.empty()) text = "coscheduling=" + schedulers.coscheduling;
    if (!schedulers.volcano.empty()) text += (text.empty() ? "volcano=" : ",volcano=") + schedulers.volcano;
    return text;
}

}  // namespace runtime
