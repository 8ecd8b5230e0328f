/* The first process of each Pod: it holds the Pod's namespaces, and ends when it is told to. */
#include <signal.h>
#include <stddef.h>
#include <sys/wait.h>

int main(void) {
    sigset_t awaited;
    int number = 0;
    sigemptyset(&awaited);
    sigaddset(&awaited, SIGINT);
    sigaddset(&awaited, SIGTERM);
    sigaddset(&awaited, SIGCHLD);
    sigprocmask(SIG_BLOCK, &awaited, NULL);
    while (sigwait(&awaited, &number) == 0 && number == SIGCHLD) {
        /* With a shared process namespace, it is the parent of every orphan of the Pod. */
        while (waitpid(-1, NULL, WNOHANG) > 0) {
        }
    }
    return 0;
}
