// One process of an example app, which takes its steps on standard input and says what happens.
//
// Used by `ExampleStory`: one for each person of a story.

import CumulusTesting
import Foundation

final class ExampleRun {
    private let output: String
    private let errors: String
    private let process: ChildProcess
    private let input: FileHandle
    /// Steps that were given so far.
    private var given = 0

    /// Starts an app, whose device is called `name`, with its files in a folder.
    init(
        _ app: String,
        as name: String,
        endpoints: [String],
        token: String?,
        in folder: String
    ) throws {
        let home = "\(folder)/\(name)"
        try FileManager.default.createDirectory(
            atPath: home,
            withIntermediateDirectories: true
        )
        (output, errors) = ("\(home)/out", "\(home)/err")
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else {
            throw ChildProcess.Failure("no pipe: \(String(cString: strerror(errno)))")
        }
        // Other processes that the test starts must not hold this one's input open.
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        input = FileHandle(fileDescriptor: ends[1], closeOnDealloc: true)
        defer { close(ends[0]) }
        var variables = [
            "HOME": home, "CUMULUS_ENDPOINT": endpoints.joined(separator: ","),
            "CUMULUS_CONTAINER": NodeProcess.container, "CUMULUS_TLS": "never",
        ]
        variables["CUMULUS_TOKEN"] = token
        process = try ChildProcess(
            [try ChildProcess.builtProgram(app), "--script", "-"],
            variables: variables,
            input: ends[0],
            output: output,
            errors: errors
        )
    }

    /// What it has shown and complained of so far.
    var text: String {
        let files = [output, errors].map {
            (try? String(contentsOfFile: $0, encoding: .utf8)) ?? ""
        }
        return files.joined()
    }

    private var finished: Int {
        let text = (try? String(contentsOfFile: output, encoding: .utf8)) ?? ""
        return text.split(separator: "\n").count { $0 == "ok" }
    }

    /// Gives the app a step, and doesn't wait for its end.
    func begin(_ step: String) throws {
        guard process.ending == nil else { throw ChildProcess.Failure("the app ended: \(text)") }
        given += 1
        try input.write(contentsOf: Data("\(step)\n".utf8))
    }

    /// Waits until all steps that were given have succeeded.
    ///
    /// A step that waits for others says why it failed before this gives up.
    func finish() async throws {
        let isDone = try await eventually(seconds: 75) {
            finished == given || process.ending != nil
        }
        guard isDone, finished == given else { throw ChildProcess.Failure(text) }
    }

    /// Ends the app as its user does.
    func quit() async throws {
        try await finish()
        try input.write(contentsOf: Data("quit\n".utf8))
        guard try await process.waitForEnd(seconds: 20) == .exit(0) else {
            throw ChildProcess.Failure(text)
        }
    }
}
