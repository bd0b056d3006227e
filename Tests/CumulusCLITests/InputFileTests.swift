// Files and pipes with tokens: what is one, and that a pipe is read once, to its end.

import CumulusTerminal
import Foundation
import Testing

@testable import CumulusCLI

@Suite struct InputFileTests {
    private let path = FileManager.default.temporaryDirectory.appending(path: "in-\(UUID())").path

    @Test(arguments: ["abc", "abc\n", "abc\r\n"])
    func oneLineBreakIsTrimmed(text: String) throws {
        #expect(try TokenFile.token(in: Data(text.utf8), "f", "the token") == "abc")
    }

    @Test(arguments: [[], [10], [97, 10, 10], [97, 32, 98], [10, 97], [0xFF, 97]] as [[UInt8]])
    func aTokenIsOneWord(bytes: [UInt8]) {
        let problem = #expect(throws: InputProblem.self) {
            try TokenFile.token(in: Data(bytes), "f", "the token")
        }
        #expect(problem?.message.hasPrefix("f ") == true)
    }

    @Test func whatIsTooLongIsNoToken() {
        #expect(throws: InputProblem.self) {
            try TokenFile.token(in: Data(repeating: 97, count: 1 << 20), "f", "the token")
        }
    }

    /// The writer pauses between two pieces, and the second reading finds nobody at the other end.
    @Test func aPipeIsReadToItsEndAndKept() throws {
        #expect(mkfifo(path, 0o600) == 0)
        defer { unlink(path) }
        let path = path
        let writer = Thread {
            guard let pipe = FileHandle(forWritingAtPath: path) else { return }
            pipe.write(Data("cumu".utf8))
            usleep(50_000)
            pipe.write(Data("lus_1\n".utf8))
            try? pipe.close()
        }
        writer.start()
        #expect(try TokenFile.token(path) == "cumulus_1")
        #expect(try TokenFile.token(path) == "cumulus_1")
    }

    @Test func whatCanNotBeReadIsNamed() {
        for file in ["/nonexistent/token", FileManager.default.temporaryDirectory.path] {
            let problem = #expect(throws: InputProblem.self) { try TokenFile.token(file) }
            #expect(problem?.message.contains("the token \(file) can't be read: ") == true)
        }
    }
}
