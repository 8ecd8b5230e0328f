#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "items.hpp"
#include "managed_fields.hpp"

namespace lifecycle {

/// The node selectors and tolerations of a JobSet's pods that this controller applied last. Each of them is
/// one field to server-side apply, and belongs to its last writer. So a note next to the hash of the applied
/// object (runtime/applied_hash.hpp) has the entries, or their hashes. Without that annotation, the JobSet is
/// of another release, and managedFields decide. Refers to the JobSet that it was read from.
class Placement {
public:
    explicit Placement(const api::Json& live);

    bool has_selector(std::string_view job, std::string_view key) const;

    /// The applied tolerations of one replicated job.
    class Tolerations {
    public:
        Tolerations(std::string job, Items noted) : job_(std::move(job)), noted_(std::move(noted)) {}
        /// Returns whether the toleration with this JSON was applied.
        bool has(const std::string& text) const;

    private:
        std::string job_;
        Items noted_;
    };
    Tolerations tolerations(std::string_view job) const;

private:
    ManagedFields by_managed_fields(std::string_view job, std::string_view field) const;

    api::Json noted_ = {};
    std::optional<ManagedFields> jobs_ = {};  // set if the JobSet has no note
};

}  // namespace lifecycle
