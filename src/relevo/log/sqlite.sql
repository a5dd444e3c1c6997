-- Statements of SqliteLog and its file. Each begins with `-- name:` and is used under that name.
--
-- An event's place is (session << 32) + position: one integer key, so that a session's events lie together and an
-- append dirties one page of one tree. The primary key is what makes a second writer at the same place impossible.

-- name: create_sessions
create table relevo_sessions (
    session integer primary key,
    id text not null unique,
    epoch integer not null default 0,
    holder text  -- the process that drives it, see holder.py; null is nobody
)

-- name: create_events
create table relevo_events (
    place integer primary key,
    kind text not null,
    version integer not null,
    at integer not null,  -- microseconds since 1970, UTC; order is the place
    data blob not null
)

-- name: create_snapshots
create table relevo_snapshots (
    session integer primary key,
    position integer not null,
    version integer not null,
    data blob not null
)

-- name: create_statuses
-- Partial, so that appends of other kinds do not touch it.
create index relevo_statuses on relevo_events (place)
    where kind in ('session.status_running', 'session.status_idle', 'session.status_terminated')

-- name: create_updates
create index relevo_updates on relevo_events (place) where kind = 'session.updated'

-- name: create_log
-- For people with a sqlite3 shell; nothing of ours reads it.
create view relevo_log as
    select s.id as session, e.place & 4294967295 as position, datetime(e.at / 1000000, 'unixepoch') as at,
           e.kind, e.version, cast(e.data as text) as data
    from relevo_events e join relevo_sessions s on s.session = e.place >> 32
    order by e.place

-- name: tables
select count(*), count(*) filter (where name in ('relevo_sessions', 'relevo_events', 'relevo_snapshots'))
from sqlite_schema where type = 'table' and name not like 'sqlite\_%' escape '\'

-- name: place
-- Where a session stands.
select s.session, s.epoch,
       coalesce((select max(place) & 4294967295 from relevo_events
                 where place between s.session << 32 and (s.session << 32) + 4294967295), 0)
from relevo_sessions s where s.id = :id

-- name: begin_session
insert into relevo_sessions (id) values (:id)

-- name: insert
insert into relevo_events (place, kind, version, at, data) values (?, ?, ?, ?, ?)

-- name: claim
update relevo_sessions set epoch = epoch + 1, holder = :holder where session = :session

-- name: holder
select holder from relevo_sessions where session = :session

-- name: release
update relevo_sessions set holder = null where id = :id and epoch = :epoch

-- name: read
-- Rows over :whole bytes come without their data, which is not even looked at then.
select place & 4294967295, kind, version, at, case when length(data) <= :whole then data end
from relevo_events
where place > (:session << 32) + :after and place <= (:session << 32) + :until
order by place

-- name: read_kinds
select place & 4294967295, kind, version, at, case when length(data) <= :whole then data end
from relevo_events
where place > (:session << 32) + :after and place <= (:session << 32) + :until
  and kind in (select value from json_each(:kinds))
order by place

-- name: list
select session, id, epoch from relevo_sessions
where session < :before order by session desc limit :limit

-- name: status
select place & 4294967295, kind, version, at, data from relevo_events indexed by relevo_statuses
where kind in ('session.status_running', 'session.status_idle', 'session.status_terminated')
  and place between :session << 32 and (:session << 32) + 4294967295
order by place desc limit 1

-- name: updates
select place & 4294967295, kind, version, at, data from relevo_events indexed by relevo_updates
where kind = 'session.updated'
  and place between :session << 32 and (:session << 32) + 4294967295
order by place

-- name: first
select place & 4294967295, kind, version, at, data from relevo_events
where place = (:session << 32) + 1

-- name: last
select place & 4294967295, at from relevo_events
where place between :session << 32 and (:session << 32) + 4294967295
order by place desc limit 1

-- name: save_snapshot
insert into relevo_snapshots (session, position, version, data) values (:session, :position, :version, :data)
on conflict (session) do update
    set position = excluded.position, version = excluded.version, data = excluded.data
    where excluded.position >= position

-- name: load_snapshot
select position, version, data from relevo_snapshots where session = :session
