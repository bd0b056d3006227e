// The program: restaurants with images, which critics add and everybody discovers.
//
// Folder: the app around its calls. Read `Main`, `DiscoverModel`, then `DiscoverScreen`.

import ExampleTerminal

@main
struct Main {
    @MainActor static func main() async {
        let terminal = Terminal()
        let screen = DiscoverScreen(terminal)
        let words = CommandLine.arguments.dropFirst()
        if !["-h", "--help", "help"].contains(words.first) { await screen.start() }
        let about = "FoodPin: restaurants to discover, with an image of each."
        await ExampleProgram("FoodPin", about, screen.commands, terminal).run()
    }
}
