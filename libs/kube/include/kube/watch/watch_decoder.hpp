#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "api/json.hpp"
#include "api/object_key.hpp"

namespace kube {

/// One line of a watch.
struct WatchEvent {
    enum class Type { upsert, removed, bookmark, error };
    Type type = Type::bookmark;
    api::ObjectKey key = {};  ///< upsert, removed
    std::string resource_version = {};
    api::Json object = {};            ///< upsert, removed: the last state, without managedFields
    bool initial_events_end = false;  ///< bookmark: the streamed list is complete
    api::Error error = {};            ///< error: the Status; `gone` means list again
};

/// Parses a line of a watch, without the paths `omit`, which begin at the event ("object" first). Fails
/// with `invalid` if the line is no watch event: the stream is broken and must be resumed.
api::Result<WatchEvent> decode_watch_line(std::string_view line, api::JsonPaths omit = {});

/// One page of a list.
struct ListPage {
    std::string resource_version = {};
    std::string next = {};  ///< `continue`; empty on the last page
    std::vector<api::Json> items = {};
};

api::Result<ListPage> decode_list_page(std::string_view body);

}  // namespace kube
