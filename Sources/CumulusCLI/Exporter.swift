// Writes the records of one type, a line each, as they arrive.
//
// A list that breaks off leaves half of a moment. To a file it is started again from its beginning;
// what went to a pipe can't be taken back, so there it is an error.

import Cumulus
import CumulusModel
import Foundation

struct Exporter {
    let records: RecordSequence
    let type: String

    private static let attempts = 20
    private static let chunkBytes = 256 << 10

    /// Writes beside the file and gives it its name at the end.
    ///
    /// Returns how many records it holds.
    func write(toFile path: String) async throws -> Int {
        let part = path + ".part"
        guard FileManager.default.createFile(atPath: part, contents: nil),
            let handle = FileHandle(forWritingAtPath: part)
        else { throw InputProblem("\(part) can't be written") }
        do {
            let count = try await writeAll(to: handle)
            try handle.synchronize()
            try handle.close()
            guard rename(part, path) == 0 else { throw InputProblem("\(path) can't be written") }
            return count
        } catch {
            try? FileManager.default.removeItem(atPath: part)
            throw error
        }
    }

    private func writeAll(to handle: FileHandle) async throws -> Int {
        for _ in 1..<Exporter.attempts {
            do {
                return try await write(to: handle)
            } catch let error as ServiceError where error.isUnreachable {
                try handle.truncate(atOffset: 0)
                try await Task.sleep(for: .milliseconds(500))
            }
        }
        return try await write(to: handle)
    }

    func write(to handle: FileHandle) async throws -> Int {
        var text = ""
        var count = 0
        for try await record in records where record.recordType == type {
            record.line.write(to: &text)
            text += "\n"
            count += 1
            if text.utf8.count >= Exporter.chunkBytes {
                try handle.write(contentsOf: Data(text.utf8))
                text.removeAll(keepingCapacity: true)
            }
        }
        try handle.write(contentsOf: Data(text.utf8))
        return count
    }
}
