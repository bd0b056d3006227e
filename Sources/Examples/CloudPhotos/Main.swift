// The program.

import ExampleTerminal

@main
struct Main {
    @MainActor static func main() async {
        await ExampleProgram("CloudPhotos", "Soon.", [], Terminal()).run()
    }
}
