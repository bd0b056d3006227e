// Holds the synchronous core and the node to the clock and the dice that they are given.

import Testing

@Suite struct SeamTests {
    @Test func clockAndDiceComeThroughTheEnvironment() throws {
        let sources = try SourceTree.sources().filter { SeamRules.targets.contains($0.target) }
        #expect(!sources.isEmpty)
        for file in sources where file.name != SeamRules.seam {
            let wrong = SeamRules.violations(text: file.text)
            #expect(wrong.isEmpty, "\(file.path) reads past the seam: \(wrong)")
        }
    }

    @Test(arguments: [
        "let now = Date()",
        "let now = Date.now",
        "let clock = ContinuousClock()",
        "let now = SuspendingClock.now",
        "clock_gettime(CLOCK_REALTIME, &time)",
        "let deadline = NIODeadline.now() + .seconds(1)",
        "try await Task.sleep(for: .seconds(1))",
        "var dice = SystemRandomNumberGenerator()",
        "let id = UUID()",
        "let number = UInt64.random(in: 0...5)",
        "let one = list.randomElement()",
        "let mixed = list.shuffled()",
    ])
    func readingPastTheSeamIsReported(text: String) {
        #expect(SeamRules.violations(text: text).count == 1)
    }

    @Test(arguments: [
        "// Date() is read by the caller.",
        "let message = \"Date() and .random(in: range)\"",
        "let number = UInt64.random(in: 0...5, using: &dice)",
        "try await Task.sleep(for: .seconds(1), clock: environment.clock)",
        "let date = Date(milliseconds)",
    ])
    func whatIsGivenMayBeUsed(text: String) {
        #expect(SeamRules.violations(text: text).isEmpty)
    }
}
