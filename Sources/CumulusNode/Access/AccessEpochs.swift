// How often what decides access has changed in the state that callers see.
//
// Moved by `VisibleState` in the step that makes a batch visible, whether commits or another node's
// state brought the change; compared by connections before each call and each part of an answer.
// hot: one load per call.
//
// Folder: who callers are while they are connected, and how they come in. Read `AccessEpochs`, then
// `OpenCalls+Judging` and `CallerConnection+ServiceKey`.

import Synchronization

final class AccessEpochs: Sendable {
    private let accountsEpoch: Atomic<UInt64>
    private let pushesEpoch = Atomic<UInt64>(0)
    /// Rings after the accounts have moved on, for streams that wait for news of something else.
    let bell = CommitBell()

    init(accounts: UInt64) {
        accountsEpoch = Atomic(accounts)
    }

    /// `WriterState.accountsVersion` of the visible state.
    ///
    /// A state that is read after this is at least as new.
    var accounts: UInt64 { accountsEpoch.load(ordering: .acquiring) }

    /// `WriterState.pushesVersion` of the visible state.
    ///
    /// A state that is read after this is at least as new.
    var pushes: UInt64 { pushesEpoch.load(ordering: .acquiring) }

    func movePushes(to epoch: UInt64) { pushesEpoch.store(epoch, ordering: .releasing) }

    /// Returns whether it is another epoch.
    func moveAccounts(to epoch: UInt64) -> Bool {
        accountsEpoch.exchange(epoch, ordering: .acquiringAndReleasing) != epoch
    }
}
