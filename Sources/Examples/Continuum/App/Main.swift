// The program: an app with photos that people comment on.
//
// Folder: the app around its calls. Read `Main`, then `AppDelegate` and `PostsScreen`.

import ExampleTerminal
import Foundation

@main
struct Main {
    @MainActor static func main() async {
        let terminal = Terminal()
        let app = AppDelegate(terminal)
        let words = CommandLine.arguments.dropFirst()
        if !["-h", "--help", "help"].contains(words.first) {
            do {
                try await app.applicationDidFinishLaunching()
            } catch {
                terminal.say("Not connected: \(error.localizedDescription)")
            }
        }
        let screen = PostsScreen(terminal, app.controller)
        let about = "Continuum: posts with a photo, and the comments on them."
        await ExampleProgram("Continuum", about, screen.commands, terminal).run()
    }
}
