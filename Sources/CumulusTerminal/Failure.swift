// The ways in which a command fails: its line on standard error and its exit code.
//
// `Program` makes it from what a command throws; commands make one for each item that failed. With
// --json the line is an object, as `Failure.json` makes it.

package import ArgumentParser
package import CumulusModel
import CumulusSystem

/// An error of the work itself: its line and its exit code.
package struct Failure {
    /// A message for people, with the server's code.
    package var message: String
    package var code: ExitCode
    /// The server's refusal, or the error of a client that got no answer.
    private var error: ServiceError?
    /// The parser answers alike about an error, whichever of its types is asked.
    private typealias Parser = NodeOptions

    /// nil for what the argument parser reports, which is wrong usage and help.
    ///
    /// Also nil for the exit code of what was reported already.
    package init?(_ error: any Error) {
        self.error = error as? ServiceError
        switch error {
        case let error as ServiceError where error.isOfFullDisk:
            message = error.message
            code = .badOutput
        case let error as ServiceError:
            message = "\(error)"
            code = error.isUnreachable ? .unreachable : .refused
        case let problem as UsageProblem:
            message = problem.message
            code = .validationFailure
        case let problem as InputProblem:
            message = problem.message
            code = .badInput
        case let problem as OutputProblem:
            message = problem.message
            code = .badOutput
        case let problem as FileProblem:
            message = problem.description
            code = .badInput
        case let error as CocoaError:
            message = error.reason
            code = .badInput
        case is ExitCode: return nil
        default:
            // The parser's errors are not public. It has codes of its own for all of them.
            guard Parser.exitCode(for: error) == .failure else { return nil }
            message = "\(error)"
            code = .internalError
        }
    }

    /// A failure that the argument parser reports; nil for help, and for failures that were already
    /// reported.
    package init?(ofUsage error: any Error) {
        guard !(error is ExitCode), Parser.exitCode(for: error) == .validationFailure else {
            return nil
        }
        // The explanation of an option stands between the message and the usage.
        let help = Parser.fullMessage(for: error).split(separator: "\n")
            .drop { !$0.hasPrefix("Help:") }.prefix { !$0.hasPrefix("Usage:") }
            .flatMap { $0.split(separator: " ") }.joined(separator: " ")
        message = Parser.message(for: error) + (help.isEmpty ? "" : ". \(help)")
        code = .validationFailure
    }

    /// The form for programs: the code is CloudKit's, or null without a server's error.
    ///
    /// - Parameters:
    ///   - item: The item that failed, if there are several.
    ///   - line: The line that failed, if the input is a file.
    package func json(item: String? = nil, line: Int? = nil) -> JSON {
        var members = [
            JSON.Member("code", error.map { .integer(Int64($0.code.rawValue)) } ?? .null),
            JSON.Member("name", .string(name)),
        ]
        if let error, error.reason != .none {
            members.append(JSON.Member("reason", .string("\(error.reason)")))
        }
        members.append(JSON.Member("message", .string(error?.message ?? message)))
        if let item { members.append(JSON.Member("item", .string(item))) }
        if let line { members.append(JSON.Member("line", .integer(Int64(line)))) }
        return .object([JSON.Member("error", .object(members))])
    }

    /// Writes its line to standard error.
    package func report(item: String? = nil, line: Int? = nil) {
        if Failure.isJSON {
            writeToStandardError(json(item: item, line: line).text + "\n")
        } else {
            complain((item.map { "\($0): " } ?? "") + message)
        }
    }

    private var name: String {
        if let error { return "\(error.code)" }
        return switch code {
        case .validationFailure: "wrongUsage"
        case .badInput: "badInput"
        case .badOutput: "badOutput"
        default: "internalError"
        }
    }

    /// Whether the command line asks for JSON; it may be one that the parser refuses.
    package static var isJSON: Bool {
        CommandLine.arguments.prefix { $0 != "--" }.contains("--json")
    }
}

extension ServiceError {
    /// Whether a download found no room on this machine.
    fileprivate var isOfFullDisk: Bool { code == .internalError && reason == .diskFull }
}

extension CocoaError {
    /// The path and the system's words, where the system said why.
    fileprivate var reason: String {
        let words = (underlying as? POSIXError).map { systemText($0.code.rawValue) }
        let path = filePath.map { "\($0): " } ?? ""
        return path + (words ?? "the file can't be read or written (\(code.rawValue))")
    }
}
