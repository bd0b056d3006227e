// Standard output and standard error, as all commands write to them.
//
// A failed write to standard output is an error at once, so the command also stops fetching. A
// failed write to standard error is ignored.

import ArgumentParser
package import CumulusSystem

package enum StandardOutput {
    package static func write(_ text: String) throws {
        try put(Data(text.utf8), to: .standardOutput, "the output")
    }

    package static func write(line: String) throws {
        try write(line + "\n")
    }
}

/// Writes all of it, or says why it can't, by the name that people know the place by.
///
/// A closed pipe is no failure, since `head` has seen enough: the command ends
/// as others do by SIGPIPE, with 141, and says nothing.
package func put(_ data: Data, to file: OpenFile, _ name: String) throws {
    var rest = data[...]
    while !rest.isEmpty {
        let count = rest.withUnsafeBytes { write(file.descriptor, $0.baseAddress, $0.count) }
        if count >= 0 {
            rest = rest.dropFirst(count)
        } else if errno == EPIPE {
            throw ExitCode.closedPipe
        } else if errno != EINTR {
            throw OutputProblem("\(name) can't be written: \(systemText())")
        }
    }
}

/// One line on standard error, with the program's name.
package func complain(_ message: String) {
    writeToStandardError("\(program): \(message.visible)\n")
}

/// The program's name, as it was started.
private let program = URL(filePath: CommandLine.arguments.first ?? "cumulus").lastPathComponent

/// A closed error stream is no reason to fail.
package func writeToStandardError(_ text: String) {
    write(text, to: STDERR_FILENO)
}

extension String {
    /// The text without control characters that a terminal would act on.
    package var visible: String {
        guard unicodeScalars.contains(where: \.isControl) else { return self }
        var text = ""
        for scalar in unicodeScalars {
            text.unicodeScalars.append(scalar.isControl ? "\u{FFFD}" : scalar)
        }
        return text
    }
}

extension Unicode.Scalar {
    fileprivate var isControl: Bool { properties.generalCategory == .control }
}
