#include "placement.hpp"

#include "api/hash.hpp"
#include "api/job_set.hpp"

namespace lifecycle {

Placement::Placement(const api::Json& live) {
    const api::AppliedNote note = api::applied_note(live);
    if (note.hash.empty()) jobs_ = applied_here(live).member("spec").member("replicatedJobs");
    if (note.placement.empty()) return;
    // Users can edit the note.
    if (auto noted = api::parse_json(note.placement)) noted_ = std::move(*noted);
}

ManagedFields Placement::by_managed_fields(std::string_view job, std::string_view field) const {
    const ManagedFields of_template = jobs_->item(job).member("template").member("spec").member("template");
    return of_template.member("spec").member(field).of_atomic();
}

bool Placement::has_selector(std::string_view job, std::string_view key) const {
    if (jobs_) return by_managed_fields(job, "nodeSelector").has_member(key);
    const api::Json& noted = noted_[job]["nodeSelector"];
    return noted.contains(key) || noted.contains(api::entry_hash(job, "nodeSelector", key));
}

Placement::Tolerations Placement::tolerations(std::string_view job) const {
    if (!jobs_) return {std::string(job), Items(noted_[job]["tolerations"])};
    // The whole list is one field: this controller owns all items or none.
    return {std::string(job),
            by_managed_fields(job, "tolerations").has_item("") ? Items::of_everything() : Items()};
}

bool Placement::Tolerations::has(const std::string& text) const {
    return noted_.has(text) || noted_.has(to_json(api::Json(api::entry_hash(job_, "tolerations", text))));
}

}  // namespace lifecycle
