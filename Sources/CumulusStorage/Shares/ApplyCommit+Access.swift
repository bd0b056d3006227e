// Applies a commit to shares: joins access entries, and sets the share of a root.
//
// `apply` calls it, once per operation. A life that is gone is not changed.

import CumulusModel

extension WriteTransaction {
    mutating func apply(
        _ access: Commit.Access,
        _ application: inout CommitApplication
    ) throws(EngineError) {
        let commit = application.commit
        guard let place = try place(of: &application) else { return }
        var record = try record(place, access.recordName)
        let births = access.births.isEmpty ? [commit.stamp.dot] : access.births
        for birth in births {
            _ = try decoding(Bytes(access.recordName.utf8)) { () throws(MalformedBytes) in
                try record.change(birth) { (row) in row.take(access, of: commit) }
            }
        }
        record.enter(commit, application.cut)
        let index = application.names.firstIndex(of: access.recordName)
        let shown = try store(record, application, at: place, isTold: index != nil)
        // The answer to a save shows the record as the whole commit left it.
        if let index { application.rows[index] = shown }
    }
}

extension RecordRow {
    fileprivate mutating func take(_ change: Commit.Access, of commit: Commit) {
        access.join(change.entries)
        // Among several creations by one request the earliest counts.
        let isVoid = requestKey != nil && twins.contains(commit.stamp)
        if let name = change.share, !isVoid, commit.stamp > share?.stamp ?? .zero {
            share = NamedTarget(name: name.isEmpty ? nil : name, birth: nil, stamp: commit.stamp)
        }
        guard commit.stamp >= modified else { return }
        modified = commit.stamp
        modifiedBy = commit.user
        device = commit.device
    }
}
