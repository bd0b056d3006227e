// The bytes of a file or of standard input that form a password.

import CumulusTerminal
import Foundation
import Testing

@testable import CumulusCLI

@Suite struct PasswordOptionTests {
    @Test(arguments: ["correct horse", "correct horse\n", "correct horse\r\n"])
    func theEndOfTheLineIsNoPartOfIt(text: String) throws {
        let password = try PasswordOption.password(in: Data(text.utf8), "the file")
        #expect(password == "correct horse")
    }

    @Test func allElseIs() throws {
        let password = try PasswordOption.password(in: Data(" a\tb \n".utf8), "the file")
        #expect(password == " a\tb ")
    }

    @Test(arguments: [[], [10], [97, 10, 98], [97, 10, 10], [0xFF, 97]] as [[UInt8]])
    func whatIsNoLineOfTextIsRefused(bytes: [UInt8]) {
        let problem = #expect(throws: InputProblem.self) {
            try PasswordOption.password(in: Data(bytes), "the file")
        }
        #expect(problem?.message.contains("the file") == true)
    }

    @Test(arguments: ["old one\nnew one", "old one\r\nnew one\n"])
    func aChangeHasTwoLines(text: String) throws {
        let (old, new) = try PasswordChange.passwords(in: Data(text.utf8))
        #expect(old == "old one" && new == "new one")
    }

    @Test(arguments: ["", "old", "old\n", "\nnew", "old\nnew\nmore\n"])
    func allElseIsNoChange(text: String) {
        let problem = #expect(throws: InputProblem.self) {
            try PasswordChange.passwords(in: Data(text.utf8))
        }
        #expect(problem?.message.contains("standard input") == true)
    }
}
