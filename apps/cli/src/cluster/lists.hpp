#pragma once
#include <string>
#include <utility>
#include <vector>

#include "api/json.hpp"
#include "kube/client/api_server.hpp"

namespace cli {

/// The objects of a kind to list. Empty: all.
struct ListQuery {
    kube::Resource resource = {};
    std::string ns = {};
    std::string labels = {};  ///< a selector: "team=vision,!done"
    std::string fields = {};  ///< a selector: "metadata.name=night"
};

/// A page of a list, as the API server sends it.
struct ListPage {
    std::vector<api::Json> items = {};
    std::string next = {};  ///< empty: it is the last one
};

/// Reads the page of the token `next`; empty: the first page. Pages have 500 objects, as kubectl's.
kube::Async<ListPage> read_page(kube::ApiServer& server, ListQuery query, std::string next);

/// Reads all pages, and stores the results of `convert`, so that only one page is in memory. If the list
/// expires between pages, it starts again, once.
template <class T, class Convert>
kube::Async<std::vector<T>> read_list(kube::ApiServer& server, ListQuery query, Convert convert) {
    std::vector<T> all;
    std::string next;
    bool begun_again = false;
    while (true) {
        auto page = co_await read_page(server, query, next);
        if (!page && page.error().code == api::Errc::gone && !begun_again) {
            begun_again = true;
            all.clear();
            next.clear();
            continue;
        }
        if (!page) co_return page.error();
        for (api::Json& item : page->items) all.push_back(convert(std::move(item)));
        next = std::move(page->next);
        if (next.empty()) co_return std::move(all);
    }
}

/// Reads whole objects.
kube::Async<std::vector<api::Json>> read_objects(kube::ApiServer& server, ListQuery query);

}  // namespace cli
