// Downloads the assets of fetched records, since CloudKit delivers records with their files.
//
// Called by fetches, queries, changes and the sync engine.

internal import Cumulus
internal import CumulusModel

extension Database {
    /// Records whose assets are downloaded at once.
    private static let downloadsAtOnce = 8

    /// The same results with the files of the records' assets; one that can't be downloaded
    /// fails its record.
    ///
    /// - Parameter progress: Is told the name of a record and how much of its assets is there,
    ///   0 to 1; not of records without assets.
    func delivered<ID: Hashable & Sendable>(
        _ results: [(ID, Result<Record, any Error>)],
        progress: (@Sendable (CKRecordID, Double) -> Void)? = nil
    ) async -> [(ID, Result<Record, any Error>)] {
        let places = results.indices.filter { place in
            (try? results[place].1.get())?.holdsAssets ?? false
        }
        var delivered: [Int: Result<Record, any Error>] = [:]
        await withTaskGroup(of: Delivery.self) { group in
            for (number, place) in places.enumerated() {
                if number >= Database.downloadsAtOnce, let done = await group.next() {
                    delivered[done.place] = done.result
                }
                let result = results[place].1
                group.addTask {
                    do {
                        let whole = try await self.delivered(try result.get(), progress)
                        return Delivery(place: place, result: .success(whole))
                    } catch {
                        return Delivery(place: place, result: .failure(error))
                    }
                }
            }
            for await done in group { delivered[done.place] = done.result }
        }
        return results.indices.map { (results[$0].0, delivered[$0] ?? results[$0].1) }
    }

    /// The result for the record at a place of the results.
    private struct Delivery: Sendable {
        let place: Int
        let result: Result<Record, any Error>
    }

    /// The same record with the files of its assets.
    private func delivered(
        _ record: Record,
        _ progress: (@Sendable (CKRecordID, Double) -> Void)?
    ) async throws -> Record {
        var record = record
        let assets = record.assets
        for (number, asset) in assets.enumerated() {
            record.replace(asset, with: try await download(asset))
            let share = Double(number + 1) / Double(assets.count)
            progress?(CKRecordID(record.recordID), share)
        }
        return record
    }
}

extension Record {
    /// The assets in the record's fields, in the order of the fields' names.
    fileprivate var assets: [Asset] {
        allKeys().flatMap { key -> [Asset] in
            switch self[key] {
            case .asset(let asset): [asset]
            case .list(let elements): elements.compactMap(\.asset)
            default: []
            }
        }
    }

    /// Puts an asset with its file in place wherever the same content stands.
    fileprivate mutating func replace(_ asset: Asset, with whole: Asset) {
        for key in allKeys() {
            switch self[key] {
            case .asset(asset): receive(.asset(whole), for: key)
            case .list(let elements) where elements.contains(.asset(asset)):
                let next = elements.map { $0 == .asset(asset) ? .asset(whole) : $0 }
                receive(.list(next), for: key)
            default: break
            }
        }
    }
}

extension FieldValue {
    fileprivate var asset: Asset? { if case .asset(let value) = self { value } else { nil } }
}
