// Reads a journal when the store is opened: judges all of it first, then gives each batch that
// tables lack to the engine.
//
// Made by `RocksDBEngine` once RocksDB is open, because RocksDB knows what is in tables. Nothing is
// written here.

import CumulusModel
import CumulusStorage
import CumulusSystem

struct JournalReplay {
    /// What a power cut left of a batch that nobody was told of: one line each, for the node's log.
    private(set) var tornEnds: [String] = []
    let chain: JournalChain
    /// The last record of the journal, or of the tables where they are ahead by one.
    private(set) var last: UInt64
    /// The checksum of the last record; 0 if the journal has no record.
    private(set) var checksum: UInt64 = 0
    /// The newest segment has no record.
    private(set) var endsEmpty = false
    private let flushed: UInt64
    private let path: String
    private var segments: [(file: String, data: Data, scan: JournalScan)] = []

    /// - Parameter flushed: The sequence number of the last record that is in tables, with all
    ///   records before it; 0 if no record is in tables.
    init(_ directory: DataDirectory, flushed: UInt64) throws(RocksDBError) {
        self.flushed = flushed
        path = directory.path
        last = flushed
        var files: [(name: String, head: JournalHead?)] = []
        for name in JournalFile.names(among: try directory.files()) {
            let start = try directory.contents(of: name).prefix(JournalHead.room)
            files.append((name, JournalHead(start)))
        }
        do {
            chain = try JournalChain(files, flushed: flushed)
        } catch {
            throw .logGap(file: "\(path)/\(error.file)")
        }
        for (index, segment) in chain.live.enumerated() {
            let successor = chain.live.dropFirst(index + 1).first
            try scan(segment, successor?.head, try directory.contents(of: segment.file))
        }
    }

    private mutating func scan(
        _ segment: JournalChain.Segment,
        _ successor: JournalHead?,
        _ data: Data
    ) throws(RocksDBError) {
        let scan = data.withUnsafeBytes {
            JournalScan($0, head: segment.head, successor: successor)
        }
        switch scan.end {
        case .whole: break
        case .damaged:
            throw .damaged(file: "\(path)/\(segment.file)", offset: UInt64(scan.place))
        case .torn:
            tornEnds.append(StoreInspection.tornEnd(segment.file, at: UInt64(scan.place)))
        }
        last = max(flushed, scan.next - 1)
        checksum = scan.checksum
        endsEmpty = scan.records.isEmpty
        segments.append((segment.file, data, scan))
    }

    /// Gives each batch that tables lack to `apply`, in order, with its sequence number.
    func run(
        _ apply: (_ batch: EngineBatch, _ sequence: UInt64) throws(EngineError) -> Void
    ) throws(RocksDBError) {
        for (file, data, scan) in segments {
            for record in scan.records where record.sequence > flushed {
                let bytes = data.withUnsafeBytes {
                    Bytes(UnsafeRawBufferPointer(rebasing: $0[record.payload]))
                }
                let batch: EngineBatch
                do {
                    batch = try JournalPayload.read(bytes)
                } catch {
                    let place = UInt64(record.payload.lowerBound)
                    throw .damaged(file: "\(path)/\(file)", offset: place)
                }
                do {
                    try apply(batch, record.sequence)
                } catch {
                    throw .unusable(directory: path, reason: "\(error)")
                }
            }
        }
    }
}
