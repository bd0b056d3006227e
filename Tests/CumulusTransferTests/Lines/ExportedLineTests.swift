// Lines of an export with what a node says of a record, and files beside them.

import Cumulus
import CumulusModel
import CumulusSystem
import Testing

@testable import CumulusTransfer

@Suite struct ExportedLineTests {
    private var record: Record {
        var record = Record(recordType: "Place", recordID: Record.ID(recordName: "p1"))
        record["name"] = "Hut"
        record.recordChangeTag = "00ff"
        record.creationDate = Timestamp(millisecondsSince1970: 0)
        record.creatorUserRecordName = "_a"
        record.modificationDate = Timestamp(millisecondsSince1970: 1_500)
        return record
    }

    @Test func systemFieldsStandApartAndAreNotTakenBack() throws {
        let line = record.line(withSystemFields: true)
        let system = try #require(line["$record"])
        #expect(system["created"] == "1970-01-01T00:00:00.000Z")
        #expect(system["createdBy"] == "_a")
        #expect(system["modified"] == "1970-01-01T00:00:01.500Z")
        #expect(system["type"] == "Place" && system["changeTag"] == "00ff")
        #expect(record.line["$record"] == nil)
        let read = try Record(line: JSONReader.read(line.text.utf8), type: "Place")
        #expect(read.allKeys() == ["name"] && read["name"] == "Hut")
        #expect(read.creationDate == nil)
    }

    @Test func filesOfAFolderAreTakenByTheirDigest() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "assets-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.path(percentEncoded: false)
        let there = Asset(digest: [UInt8](repeating: 1, count: 32), size: 3)
        let short = Asset(digest: [UInt8](repeating: 2, count: 32), size: 9)
        for asset in [there, short] {
            try Data("abc".utf8).write(to: URL(filePath: asset.path(in: path)))
        }
        var record = record
        record["photo"] = .asset(there)
        record["views"] = .list([.asset(there), .asset(short)])
        record.takeFiles(from: path)
        guard case .asset(let photo)? = record["photo"], let views = record["views"]?.list,
            case .asset(let first) = views[0], case .asset(let second) = views[1]
        else {
            Issue.record("\(record)")
            return
        }
        #expect(photo.fileURL != nil && first.fileURL != nil)
        // A file that was cut off is none.
        #expect(second.fileURL == nil && second == short)
    }
}
