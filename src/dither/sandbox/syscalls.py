"""Numbers of the system calls that a filter may name, for the two architectures that are supported.

``name=x86_64/aarch64``; a dash where an architecture has no such call.  Everything that is not in this table can
only be refused.
"""

from __future__ import annotations

ARCHITECTURES: tuple[str, ...] = ("x86_64", "aarch64")

_TABLE = """
access=21/- alarm=37/- arch_prctl=158/- brk=12/214 capget=125/90 capset=126/91 chdir=80/49 chmod=90/-
chroot=161/51 clock_getres=229/114 clock_gettime=228/113 clock_nanosleep=230/115 clone=56/220 clone3=435/435
close=3/57 close_range=436/436 creat=85/- dup=32/23 dup2=33/- dup3=292/24 epoll_create=213/-
epoll_create1=291/20 epoll_ctl=233/21 epoll_pwait=281/22 epoll_pwait2=441/441 epoll_wait=232/- eventfd=284/-
eventfd2=290/19 execve=59/221 execveat=322/281 exit=60/93 exit_group=231/94 faccessat=269/48 faccessat2=439/439
fallocate=285/47 fchdir=81/50 fchmod=91/52 fchmodat=268/53 fcntl=72/25 fdatasync=75/83 fork=57/- fstat=5/80
fsync=74/82 ftruncate=77/46 futex=202/98 get_robust_list=274/100 getcpu=309/168 getcwd=79/17
getdents=78/- getdents64=217/61 getegid=108/177 geteuid=107/175 getgid=104/176 getgroups=115/158
getitimer=36/102 getpgid=121/155 getpgrp=111/- getpid=39/172 getppid=110/173 getrandom=318/278 getresgid=120/150
getresuid=118/148 getrlimit=97/163 getrusage=98/165 getsid=124/156 gettid=186/178 gettimeofday=96/169
getuid=102/174 ioctl=16/29 kill=62/129 link=86/- linkat=265/37 lseek=8/62 lstat=6/- madvise=28/233 mkdir=83/-
memfd_create=319/279
mkdirat=258/34 mlock=149/228 mmap=9/222 mount=165/40 mprotect=10/226 mremap=25/216 munlock=150/229 munmap=11/215
nanosleep=35/101 newfstatat=262/79 open=2/- openat=257/56 pause=34/- pidfd_open=434/434
pidfd_send_signal=424/424 pipe=22/- pipe2=293/59 pivot_root=155/41 poll=7/- ppoll=271/73 prctl=157/167
pread64=17/67 preadv=295/69 prlimit64=302/261 pselect6=270/72 pwrite64=18/68 pwritev=296/70 read=0/63
readlink=89/- readlinkat=267/78 readv=19/65 recvmsg=47/212 rename=82/- renameat=264/38 renameat2=316/276
restart_syscall=219/128 rmdir=84/- rseq=334/293 rt_sigaction=13/134 rt_sigpending=127/136 rt_sigprocmask=14/135
rt_sigqueueinfo=129/138 rt_sigreturn=15/139 rt_sigsuspend=130/133 rt_sigtimedwait=128/137
sched_get_priority_max=146/125 sched_get_priority_min=147/126 sched_getaffinity=204/123 sched_getparam=143/121
sched_getscheduler=145/120 sched_setaffinity=203/122 sched_yield=24/124 seccomp=317/277 select=23/-
sendfile=40/71 sendmsg=46/211 sendto=44/206 set_robust_list=273/99 set_tid_address=218/96 setitimer=38/103 setns=308/268
setpgid=109/154 setrlimit=160/164 setsid=112/157 sigaltstack=131/132 signalfd4=289/74 stat=4/-
symlink=88/- symlinkat=266/36 tgkill=234/131 time=201/- timer_create=222/107 timer_delete=226/111
timer_getoverrun=225/109 timer_gettime=224/108 timer_settime=223/110 timerfd_create=283/85
timerfd_gettime=287/87 timerfd_settime=286/86 times=100/153 tkill=200/130 truncate=76/45 umask=95/166
umount2=166/39 uname=63/160 unlink=87/- unlinkat=263/35 unshare=272/97 utimensat=280/88 vfork=58/- wait4=61/260
waitid=247/95 write=1/64 writev=20/66
"""


def numbers(architecture: str) -> dict[str, int]:
    """System call numbers by name.

    >>> numbers("x86_64")["openat"], numbers("aarch64")["openat"]
    (257, 56)
    """
    place = ARCHITECTURES.index(architecture)
    split = (entry.split("=") for entry in _TABLE.split())
    return {name: int(both.split("/")[place]) for name, both in split if both.split("/")[place] != "-"}
