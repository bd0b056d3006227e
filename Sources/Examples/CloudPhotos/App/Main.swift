// The program: an app with photos that everybody can see.
//
// Folder: the app around its calls. Read `Main`, then `AppDelegate` and `PhotosController`.

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
        let about = "CloudPhotos: photos that everybody can see, and only their owners can change."
        await ExampleProgram("CloudPhotos", about, app.commands, terminal).run()
    }
}
