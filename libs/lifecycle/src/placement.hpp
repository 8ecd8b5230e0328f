#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "items.hpp"
#include "managed_fields.hpp"

namespace lifecycle {

/// Which node selectors and tolerations of a JobSet's pods we applied last. Each of these is one field to
/// server-side apply, and belongs to the manager that wrote it last; so a note next to the hash of what we
/// applied (runtime/applied_hash.hpp) tells it, or hashes of it. A JobSet without such an annotation is
/// another release's: there managedFields have to do. Refers to the JobSet that it was read from.
class Placement {
public:
    explicit Placement(const api::Json& live);

    bool has_selector(std::string_view job, std::string_view key) const;

    /// Those of one replicated job.
    class Tolerations {
    public:
        Tolerations(std::string job, Items noted) : job_(std::move(job)), noted_(std::move(noted)) {}
        /// Of a toleration's JSON.
        bool has(const std::string& text) const;

    private:
        std::string job_;
        Items noted_;
    };
    Tolerations tolerations(std::string_view job) const;

private:
    ManagedFields by_managed_fields(std::string_view job, std::string_view field) const;

    api::Json noted_ = {};
    std::optional<ManagedFields> jobs_ = {};  // where nothing could be noted
};

}  // namespace lifecycle
