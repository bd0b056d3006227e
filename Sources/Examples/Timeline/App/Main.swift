// The program: a timeline that people write together, also without a connection.
//
// Folder: the app around its calls. Read `Main`, `AppDelegate`, `TimelineController`, then
// `TimelineScreen`.

import ExampleTerminal

@main
struct Main {
    @MainActor static func main() async {
        let terminal = Terminal()
        let app = AppDelegate(terminal)
        let words = CommandLine.arguments.dropFirst()
        if !["-h", "--help", "help"].contains(words.first) {
            await withCheckedContinuation { done in
                app.applicationDidFinishLaunching { done.resume() }
            }
        }
        let screen = TimelineScreen(terminal, app.controller)
        let about = "Timeline: entries and comments that are the same on all devices."
        await ExampleProgram("Timeline", about, screen.commands, terminal).run()
    }
}
