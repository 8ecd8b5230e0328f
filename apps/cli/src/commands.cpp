#include "commands.hpp"

#include "check/check.hpp"
#include "explain/explain.hpp"
#include "list/list.hpp"
#include "logs/logs.hpp"
#include "remove/remove.hpp"
#include "render/render.hpp"
#include "suspend/suspend.hpp"
#include "timeline/timeline.hpp"
#include "wait_for/wait_for.hpp"

namespace cli {

std::span<const Command> commands() {
    static const Command all[] = {
        check_command(),  delete_command(), explain_command(), list_command(),     logs_command(),
        render_command(), resume_command(), suspend_command(), timeline_command(), wait_command(),
    };
    return all;
}

}  // namespace cli
