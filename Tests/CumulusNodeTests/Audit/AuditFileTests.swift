// The audit log on the disk: it is bounded, goes on after a restart and a torn line, and a disk
// that takes no more costs lines and nothing else.

import CumulusModel
import CumulusSystem
import CumulusTesting
import Foundation
import Logging
import Testing

@testable import CumulusNode

@Suite struct AuditFileTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private var path: String { folder.path + "/audit.log" }

    private func line(_ number: Int) -> Bytes { Bytes("{\"line\":\(number)}\n".utf8) }

    private func lines(_ name: String = "audit.log") throws -> [String] {
        try String(contentsOfFile: folder.path + "/" + name, encoding: .utf8)
            .split(separator: "\n").map(String.init)
    }

    private func file() -> AuditFile {
        AuditFile(
            directory: folder.path,
            byteLimit: 1 << 20,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    @Test func whatIsKeptIsThereAfterTheEnd() throws {
        for run in 0..<2 {
            let file = file()
            file.start()
            for number in 0..<1_000 { file.keep(line(run * 1_000 + number)) }
            file.stop()
        }
        let found = try lines()
        #expect(found == (0..<2_000).map { "{\"line\":\($0)}" })
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
    }

    @Test func bothFilesStayWithinTheLimit() throws {
        var writer = AuditWriter(path: path, byteLimit: 1_000)
        for number in 0..<1_000 {
            writer.write(line(number))
            let sizes = ["", ".1"].map { (try? Data(contentsOf: URL(filePath: path + $0)))?.count }
            #expect(sizes.reduce(0) { $0 + ($1 ?? 0) } <= 1_000)
        }
        writer.close()
        let kept = try lines("audit.log.1") + lines()
        let last = (1_000 - kept.count..<1_000).map { "{\"line\":\($0)}" }
        #expect(kept == last && kept.count > 35)
    }

    @Test func aTornLineSpoilsNoOther() throws {
        try Data("{\"line\":".utf8).write(to: URL(filePath: path))
        var writer = AuditWriter(path: path, byteLimit: 1_000)
        writer.write(line(1))
        writer.close()
        #expect(try lines() == ["{\"line\":", "{\"line\":1}"])
    }

    /// The file is a device that is always full, until it is one with room.
    @Test func aFullDiskCostsLinesOnly() throws {
        let full = "/dev/full"
        guard FileManager.default.fileExists(atPath: full) else { return }
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: full)
        var writer = AuditWriter(path: path, byteLimit: 1_000)
        for number in 0..<5 { writer.write(line(number)) }
        #expect(writer.isFailing && writer.lost == 5)
        #expect(writer.problem?.code == ENOSPC)
        writer.close()
        try FileManager.default.removeItem(atPath: path)
        writer.write(line(5))
        writer.close()
        #expect(!writer.isFailing)
        #expect(try lines() == ["{\"lostLines\":5}", "{\"line\":5}"])
    }

    @Test func aQueueThatIsFullCostsLinesOnly() throws {
        let file = file()
        for number in 0..<10_100 { file.keep(line(number)) }
        file.start()
        file.stop()
        let found = try lines()
        #expect(found.count == 10_001 && found.first == "{\"lostLines\":100}")
    }

    @Test func theNewestLinesAreReadBack() throws {
        let file = file()
        #expect(file.newestLines(byteLimit: 1_000) == [])
        var writer = AuditWriter(path: path, byteLimit: 1_000)
        for number in 0..<100 { writer.write(line(number)) }
        let kept = try lines("audit.log.1") + lines()
        func read(_ byteLimit: Int) -> [String] {
            file.newestLines(byteLimit: byteLimit).map { String(decoding: $0, as: UTF8.self) }
        }
        #expect(read(1_000) == kept)
        for byteLimit in 0..<1_000 {
            let some = read(byteLimit)
            #expect(some == kept.suffix(some.count))
            // A line is left out only if it does not fit.
            #expect(byteLimit < kept.count * 12 || some == kept)
        }
        writer.close()
        // Half a line waits for its end.
        let handle = try #require(FileHandle(forWritingAtPath: path))
        try handle.seekToEnd()
        try handle.write(contentsOf: Data("{\"line\"".utf8))
        try handle.close()
        #expect(read(2_000) == kept)
    }
}
