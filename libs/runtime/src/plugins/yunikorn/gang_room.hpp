#pragma once
#include <string>
#include <vector>

#include "api/json.hpp"

namespace runtime {

/// Returns the label selector of the Pods with which YuniKorn holds room for the gangs of those of these Pods
/// that have no node; empty if there is no such Pod.
std::string selector_of_placeholders(const std::vector<api::Json>& pods);

/// Gives Pods without a node the scheduling problem of the Pods that hold their gang's room: YuniKorn says
/// nothing of a Pod until there is room for the whole gang.
void add_missing_room(std::vector<api::Json>& pods, const std::vector<api::Json>& placeholders);

}  // namespace runtime
