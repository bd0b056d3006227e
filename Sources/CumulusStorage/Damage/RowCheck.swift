// Checks whether a row of any subspace decodes.
//
// Asked by `StoreSurvey` for every row of a store. hot: once per row of a comparison.

import CumulusModel

enum RowCheck {
    /// What is wrong with a row; nil if its key and value can be read.
    static func problem(_ key: Bytes, _ value: Bytes) -> String? {
        guard let first = key.first, let subspace = Subspace(rawValue: first) else {
            return "nothing has such a key"
        }
        do {
            try check(subspace, key, value)
            return nil
        } catch let error as MalformedBytes {
            return error.reason
        } catch EngineError.corrupt(let what) {
            return what
        } catch {
            return "\(error)"
        }
    }

    private static func check(_ subspace: Subspace, _ key: Bytes, _ value: Bytes) throws {
        switch subspace {
        case .record, .sibling: _ = try RecordRow(value)
        case .commit: _ = try Commit(value)
        case .change: _ = try RowKey.changedRecord(key)
        case .format, .scope, .database, .stagedZone: _ = try NumberRow(row: value)
        case .node: _ = try NodeRow(row: value)
        case .zone: _ = try ZoneRow(row: value)
        case .zoneState: _ = try ZoneState(row: value)
        case .zoneHead, .logFloor, .feedBreak, .feedDay, .subscribed: _ = try SeqRow(row: value)
        case .watchedHead: _ = try WatchedHead(row: value)
        case .vector: _ = try RunRow(row: value)
        case .report: _ = try ReportRow(row: value)
        case .register: _ = try RegisterRow(row: value)
        case .index: _ = try IndexRow(row: value)
        case .assetUsage: _ = try AssetUsageRow(row: value)
        case .packOrigin: _ = try PackOriginRow(row: value)
        case .asset: _ = try AssetRow(row: value)
        case .chunk: _ = try ChunkRow(row: value)
        case .pack: _ = try PackRow(row: value)
        case .chunkUse: _ = try ChunkUseRow(row: value)
        case .packed: _ = try PackedRow(row: value)
        case .increment: _ = try IncrementRow(row: value)
        case .request: _ = try RequestRow(row: value)
        case .conflict: _ = try Conflict(row: value)
        case .stage: _ = try StagedRecord(row: value)
        case .cascadeDebt: _ = try CascadeDebt(row: value)
        case .topicEvent: _ = try TopicEvent(row: value)
        case .mixed: _ = try MixedRow(row: value)
        case .repeated: _ = try RepeatedRow(row: value)
        case .owedChange: _ = try OwedChange(row: value)
        case .owedIndexRows: _ = try OwedIndexRows(row: value)
        case .milestone: _ = try Milestone(row: value)
        case .lease: _ = try LeaseRow(row: value)
        case .shareIDRow: _ = try ShareIDRow(row: value)
        case .visibleZone: _ = try VisibleZone(row: value)
        case .hangFloor: _ = try HangFloor(row: value)
        case .hang: _ = try HangRow(row: value)
        case .chunkList, .backReference, .indexRow, .assetUse, .assetLoss, .wantedAsset, .joining,
            .restored:
            break
        }
    }
}
