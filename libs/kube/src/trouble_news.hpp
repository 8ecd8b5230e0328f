#pragma once
#include <optional>
#include <string>

#include "api/error.hpp"

namespace kube {

/// Which of a loop's failures are news for people: the first one, the first of another kind once it has
/// lasted, and the end of them.
class TroubleNews {
public:
    enum class News { none, trouble, over };

    /// `tell_first_success`: that it works is news as well when nothing was said before.
    explicit TroubleNews(bool tell_first_success) : told_(tell_first_success ? "starting" : "") {}

    /// To be called once per attempt; nullptr = it went well.
    News note(const api::Error* trouble);

private:
    std::string told_;  // the kind of trouble that people know of; empty = they take it for working
    bool in_trouble_ = false;
    std::string other_;  // another kind that has come up since
    int others_ = 0;     // in a row
};

}  // namespace kube
