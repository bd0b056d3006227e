// The beginning of a packaged program: the node by the name `cumulusd`, the command line by others.
//
// cluster/package links it. Most of the code of the two is the same, so one file with two names has
// two thirds of the bytes.

#include <string.h>

extern int SERVER(int count, char **arguments);
extern int COMMANDS(int count, char **arguments);

int main(int count, char **arguments) {
    const char *path = count > 0 ? arguments[0] : "";
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    return strncmp(name, "cumulusd", strlen("cumulusd")) == 0 ? SERVER(count, arguments)
                                                              : COMMANDS(count, arguments);
}
